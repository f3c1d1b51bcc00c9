"""Side by side with the peers: time, memory, size and accuracy on the same matrices."""
