"""What all trainings of networks share; torch is imported when first needed, and only below.

- `library.needed_library`: torch, or the sentence that says how to get it (extra ``transformer``).
- `device.choose_device`, `device.mixed_precision`: where and with which numbers to compute;
  `device.settled(run, *stream)` is the context to train in (threads, seed, determinism),
  `device.computing(run)` the one to predict in (threads, no gradients).
- `batches.LengthBuckets`: the batches of a training by step, each of documents of like length;
  `batches.by_length`: all documents once, longest first.
- `losses.LOSSES`: weighted squared hinge and cross entropy over candidate clusters, by name.
- `training.train(network, loss_of, lengths, plan, run, recall=, checkpoint=)`: AdamW with warm-up
  and decay by a `training.TrainingPlan`; batches in pieces, halved when memory runs out; stops
  early by held-out recall and keeps the best; goes on from a checkpoint to the same result.
- `checkpoints.write_checkpoint`, `read_checkpoint`: tensors and JSON in one safetensors file.

A whole training looks like this::

    device = choose_device("auto")
    network.to(device)
    with settled(run, STREAM_OF_MINE):
        outcome = train(network, loss_of, lengths, TrainingPlan(n_steps=600), run, recall=recall)

On a CPU the same seed gives the same network; with another number of threads sums may be rounded
otherwise within torch, so that weights then agree in most digits and not in all.
"""
