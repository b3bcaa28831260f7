from words import count

assert count("a  b ") == 2
