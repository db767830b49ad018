end

-- Gives tokens back to all rates of a limiter, as if they had not been taken. Reply: 1.
--
-- Not idempotent: a repeat would give twice.
for i = 1, count do
  local key, kind = KEYS[i + 1], ARGV[i * 6 - 3]
  local first, second = tonumber(ARGV[i * 6 - 2]), tonumber(ARGV[i * 6 - 1])
  local write = redis.call('EXISTS', key) == 1
  if write then
