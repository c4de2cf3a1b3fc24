"""The wire formats the stand-in model server speaks.

Each module has `validate(body)`, which raises `BadRequestError` as the real server would refuse,
`whole(reply, body, stamp)` for an answer in one piece, `events(...)` for the stream, and `error(...)` for the shape
of a refusal.
"""
