from title import title

assert title("it's so") == "It's so"
