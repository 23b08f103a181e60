"""Descriptions of the parameters and attributes that COFHAE and the baselines share."""

from __future__ import annotations

from disentree.utils.docstrings import insert_shared

ENTRIES = {
    "training_parameters": """
        epochs : int or None, default=None
            Passes over the data. None: as many as it takes for `steps` minibatches.
        batch_size : int or None, default=None
            Rows of a minibatch. None: 256; in COFHAE, 32 of images for convolutional networks.
        learning_rate : float or None, default=None
            Highest learning rate of Adam. None: .002; in COFHAE, .004 for convolutional networks.
        schedule : {"one-cycle", "steps", "constant"}, default="one-cycle"
            "one-cycle" raises the learning rate for a fifth of training and then lowers it along a cosine;
            "steps" is the paper's, a tenth after half of training and again after three quarters.
        encoder, decoder : str, Module or callable, default="auto"
            "mlp" is the sum of a perceptron and a linear map, "plain-mlp" a perceptron, "conv" a convolutional
            network made for CPUs, "sharp" a larger decoder and its mirror image, "burgess" the paper's for images
            of 64x64; "auto" is "mlp", and of pixels "conv" to encode and "sharp" to decode. A module of your own
            is copied; its input is what `input_` makes of a row. Or a function, ``lambda n_in, n_out: ...``, that
            makes one for these numbers of inputs and outputs; of images one of the two is a shape.
        hidden : sequence of int, default=(256, 256)
            Hidden widths of the perceptrons.
        activation : {"softplus", "silu", "relu", "tanh", "gelu"} or two of them, default="silu"
            Activation function of the networks that are chosen by name; two are those of encoder and decoder.
        input : {"auto", "whiten", "pca", "standardize", "raw", "image"}, default="auto"
            The fixed first layer: whitened principal components, principal components, standardized columns, X as
            it is (images from 0 to 1), or pixels for convolutions, whose decoder then starts at the mean image.
            "auto" takes "whiten" for tables, and for images "image" with convolutional networks, which are the
            default of COFHAE, else "pca".
        likelihood : {"auto", "gaussian", "bernoulli"}, default="auto"
            "auto" is Bernoulli for 0/1 data and convolutional networks.
        device : {"auto", "cpu", "cuda", "mps"}, default="auto"
            Where to train. "auto" is CUDA, else MPS, else the CPU.
        random_state : int, Generator, RandomState or None, default=0
            An integer makes the result repeatable. The global generators are never used.
        verbose : bool, default=False
            Show progress on stderr.
        checkpoint : path or None, default=None
            A folder in which the state is saved after every epoch. If it holds one of the same training, that is
            continued, bit for bit on a CPU.
        events : path or None, default=None
            A file that gets a line of JSON per epoch.
        tensorboard : path or None, default=None
            A folder for TensorBoard, which is the extra of that name.
        callbacks : sequence, default=()
            Functions, or objects with a method `on_epoch_end`, that are called with (record, model) after every
            epoch; `record` is the new row of `history_`. True for an answer ends the training.
        patience : int or None, default=None
            Epochs without a lower loss of rows that are held out, a tenth, after which training ends. The model is
            then that of the epoch with the lowest; `history_` has the losses as held_out.
        """,
    "model_attributes": """
        autoencoder_ : HierarchicalAutoencoder
            The trained networks.
        maps_ : {"linear", "network"}
            What encoder and decoder are.
        preprocessor_ : Preprocessor
            Between rows as they are given and the numbers that the networks take: `to_features`, `from_features`.
        input_ : InputLayer
            The fixed first and last layer.
        interrupted_, diverged_ : bool
            Whether Ctrl-C, or losses out of bounds, ended training early. The model is then that of the last good
            epoch.
        code_statistics_ : dict
            Ranges and histograms of the codes of some training rows.
        seed_ : int
            The seed that all randomness followed from.
        device_ : torch.device
            Where the networks are.
        n_features_in_ : int
            Number of columns of X.
        feature_names_in_ : array of str
            Their names, if X had any.
        """,
}

documented = insert_shared(ENTRIES)
