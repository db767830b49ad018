-- Adds items to a Bloom filter, and makes the filter if it is not there.
--
-- KEYS, ARGV[1] and [2]  see config.lua
-- ARGV[3]  for how many items the filter is, and ARGV[4] with which rate of false positives: for the configuration
-- ARGV[5]  ms until a filter that is made is gone; 0: it stays
-- ARGV[6]  and so on: the bits of the first item, as many as there are hashes, of the next, and so on
--
-- Reply    a text with a digit for each item: 1 at least one of its bits was not set, 0 all of them were
--
-- Invariant: N does not outlive C, so that bits are never read by another configuration than they were set by.
--
-- One BITFIELD sets many bits for little more than half of what as many SETBIT would take.
local BITS_AT_ONCE = 112
local left = 0
if not there then
  redis.call('HSET', C, 'size', size, 'hashIterations', hashes, 'expectedInsertions', ARGV[3], 'falseProbability', ARGV[4])
  left = tonumber(ARGV[5])
  if left > 0 then
    redis.call('PEXPIRE', C, left)
  end
else
  local ttl = redis.call('PTTL', C)
  if ttl >= 0 and redis.call('EXISTS', N) == 0 then
    left = math.max(ttl, 1)
  end
end
local words = {}
for at = 1, 4 * BITS_AT_ONCE, 4 do
  words[at], words[at + 1], words[at + 3] = 'SET', 'u1', '1'
end
local k, answers, count = tonumber(hashes), {}, 0
local answer, missing = '0', k
for from = 6, #ARGV, BITS_AT_ONCE do
  local to = 0
  for at = from, math.min(from + BITS_AT_ONCE - 1, #ARGV) do
    words[to + 3] = ARGV[at]
    to = to + 4
  end
  local old = redis.call('BITFIELD', N, unpack(words, 1, to))
  for at = 1, #old do
    if old[at] == 0 then
      answer = '1'
    end
    missing = missing - 1
    if missing == 0 then
      count = count + 1
      answers[count] = answer
      answer, missing = '0', k
    end
  end
end
if left > 0 then
  -- A server may reckon an end from when it carries out the command: so the configuration gets its end again, last.
  redis.call('PEXPIRE', N, left)
  redis.call('PEXPIRE', C, left)
end
return table.concat(answers)
