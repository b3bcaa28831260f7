from clamp import clamp

assert (clamp(9, 0, 5), clamp(-1, 0, 5)) == (5, 0)
