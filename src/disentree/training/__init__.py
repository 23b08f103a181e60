"""Networks and the one loop that trains them, below MIMOSA, COFHAE and the baselines.

`networks` builds encoders and decoders, `data` and `batches` deliver minibatches, `schedules` sets the learning
rate, `loop` trains, `running` adds progress, checkpoints and Ctrl-C, `checkpoints` writes to disk, and `session`
chooses devices, seeds and threads.
"""
