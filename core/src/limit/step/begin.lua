-- What a rate limiter's scripts share: the time, and for each of its rates where the limiter stands. Behind this comes each
-- algorithm's part of the loop.
--
-- KEYS[1]  until when it is blocked: STRING, of which only the time to live counts
-- KEYS[2]  what the first rate has counted, see the parts of the algorithms; KEYS[3] the second's, and so on
-- ARGV[1]  the cost; 0 only looks, for one token
-- ARGV[2]  for how many us the tokens may be waited for
-- ARGV[3]  and on: for each rate six words: its algorithm, by a letter, and five numbers
--
-- Time is in us since 2025 on the server's clock. Numbers stay below 2^53, where a Lua number is exact.
local time = redis.call('TIME')
local unix = time[1] * 1000000 + time[2]
local now = math.max(0, unix - 1735689600000000)
local LARGEST, LONGEST = 9007199254740991, 3155760000000000
local cost, wait = tonumber(ARGV[1]), tonumber(ARGV[2])
local asked = math.max(cost, 1)
local count = #KEYS - 1

-- The texts of all keys at once; false for a key that is gone, and for one that is no STRING.
local texts = redis.call('MGET', unpack(KEYS))

-- From when on the tokens may be used, and which rate says so: none for now, one more than there are rates for a block.
local at, which = now, 0
if texts[1] then
  at, which = now + math.max(0, redis.call('PTTL', KEYS[1])) * 1000, count + 1
end

-- The state of a rate, in up to six numbers; `moved`: a step of the clock has changed it. Of several, each has its own in `held`: of
-- one alone no table is made.
local u, v, w, x, y, z, moved
local held = count > 1 and {}
local all_gone, all_same = true, true
for i = 1, count do
  local key, kind = KEYS[i + 1], ARGV[i * 6 - 3]
  local first, second = tonumber(ARGV[i * 6 - 2]), tonumber(ARGV[i * 6 - 1])
  u, v, w, x, y, z, moved = 0, 0, 0, 0, 0, 0, false
  -- When this rate has the tokens.
  local due
