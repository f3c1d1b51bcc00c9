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
- `side_by_side.asked_in_pieces`, `one_by_one`: ask a network about many documents, by threads that
  have some documents each; `dropout.dropout_from(seed)`: chance for a loss that threads compute.
- `checkpoints.write_checkpoint`, `read_checkpoint`: tensors and JSON in one safetensors file.

A whole training looks like this::

    device = choose_device("auto")
    network.to(device)
    with settled(replace(run, n_threads=1), STREAM_OF_MINE):
        outcome = train(network, loss_of, lengths, TrainingPlan(n_steps=600), run, recall=recall)

On a CPU the same seed gives the same network for any number of threads, as long as torch has one
thread (above) and `loss_of(rows, seed)` takes all chance from its seed.
"""
