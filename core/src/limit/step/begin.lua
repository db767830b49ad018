-- What a rate limiter's scripts share: the time, and for each of its rates where the limiter stands. Behind this comes each
-- algorithm's part of the loop.
--
-- KEYS     what each rate has counted, see the parts of the algorithms
-- ARGV[1]  the cost; 0 only looks, for one token
-- ARGV[2]  for how many us the tokens may be waited for
-- ARGV[3]  and on: for each rate six words: its algorithm, by a letter, and five numbers
--
-- What a key holds, of a list its last entry, may have a mark behind it: `!until:written`. Until then nothing is granted.
--
-- Time is in us since 2025 on the server's clock. Numbers stay below 2^53, where a Lua number is exact.
local time = redis.call('TIME')
local unix = time[1] * 1000000 + time[2]
local now = math.max(0, unix - 1735689600000000)
local LARGEST, LONGEST = 9007199254740991, 3155760000000000
local cost, wait = tonumber(ARGV[1]), tonumber(ARGV[2])
local asked = math.max(cost, 1)
local count = #KEYS

-- From when on the tokens may be used, and which rate says so: none for now, one more than there are rates for a block.
local at, which = now, 0

-- The state of a rate, in up to six numbers; `b`: until when it is blocked, 0 when it is not; `moved`: a step of the clock has changed
-- it; `added`: a log gets another entry. Of several, each has its own in `held`: of one alone no table is made.
local u, v, w, x, y, z, b, moved, text, ahead, added
local held = count > 1 and {}
local all_gone, all_same = true, true
for i = 1, count do
  local key, kind = KEYS[i], ARGV[i * 6 - 3]
  local first, second = tonumber(ARGV[i * 6 - 2]), tonumber(ARGV[i * 6 - 1])
  u, v, w, x, y, z, b, moved = 0, 0, 0, 0, 0, 0, 0, false
  if kind == 'l' then
    text = redis.call('LINDEX', key, -1)
  else
    text = redis.call('GET', key)
  end
  if text and string.find(text, '!', 1, true) then
    local rest, till, written = string.match(text, '^(.*)!(%d+):(%d+)$')
    if not rest then
      return redis.error_reply('WRONGTYPE the key holds no rate limit')
    end
    till, written = math.min(tonumber(till), LARGEST), math.min(tonumber(written), LARGEST)
    if written > now then
      -- The clock stepped back: the block is as far ahead as it was.
      till, moved = math.max(0, till - (written - now)), true
    end
    text, b = rest ~= '' and rest, math.min(till, now + LONGEST)
    if b > at then
      at, which = b, count + 1
    end
  end
  -- When this rate has the tokens.
  local due
