-- Looks whether items were added to a Bloom filter.
--
-- KEYS, ARGV[1] and [2]  see config.lua
-- ARGV[3]  and so on: the bits of the first item, as many as there are hashes, of the next, and so on
--
-- Reply    a text with a digit for each item: 1 all of its bits are set, 0 at least one is not, as in a filter that is not there
--
-- GETBIT and no BITFIELD: of an item that was not added, two bits have to be looked at as a rule.
local k, answers, count = tonumber(hashes), {}, 0
for from = 3, #ARGV, k do
  local answer = there and '1' or '0'
  if there then
    for at = from, from + k - 1 do
      if redis.call('GETBIT', N, ARGV[at]) == 0 then
        answer = '0'
        break
      end
    end
  end
  count = count + 1
  answers[count] = answer
end
return table.concat(answers)
