-- Judges one request to a rate limiter and, if all of its rates grant it, charges all of them: for now, or for when the tokens are
-- there. Reply: {1 granted or 0 refused, now in us of Unix time, from when on the tokens may be used, which rate says so, and of each
-- rate the three numbers that say how it stands; of a reservation also the three of each that said it before}.
--
-- Not idempotent: a repeat would charge twice.
local granted = at <= now + wait
local reply = { granted and 1 or 0, unix, at, which, 0, 0, 0 }
