  if due > at then
    at, which = due, i
  end
end

-- Judges one request to a rate limiter and, if all of its rates grant it, charges all of them: for now, or for when the tokens are
-- there. Reply: {1 granted or 0 refused, now in us of Unix time, from when on the tokens may be used, which rate says so, and of each
-- rate the three numbers that say how it stands}.
--
-- Not idempotent: a repeat would charge twice.
local granted = at <= now + wait
local reply = { granted and 1 or 0, unix, at, which }
for i = 1, count do
  local key, kind = KEYS[i + 1], ARGV[i * 6 - 3]
  local first, second = tonumber(ARGV[i * 6 - 2]), tonumber(ARGV[i * 6 - 1])
  local write = moved[i] and cost > 0
  if granted and cost > 0 then
    write = true
