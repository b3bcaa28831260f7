"""Heights of the tide, and words for them."""
