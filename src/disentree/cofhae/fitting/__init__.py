"""The stages of `COFHAE.fit`: structure, input, maps in closed form, training (Algorithm 2)."""
