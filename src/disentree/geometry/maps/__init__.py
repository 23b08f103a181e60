"""Encoders and decoders in closed form, for trees of flat leaves."""
