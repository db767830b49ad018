-- Takes the next ids of a generator: as many whole blocks as hold those that are wanted.
--
-- KEYS[1]  N  STRING: the first id of the next block, decimal (Redisson's RIdGenerator), without a time to live
-- KEYS[2]  A  STRING: how many ids a block has, decimal, without a time to live
-- ARGV[1]  what A becomes if it is not there
-- ARGV[2]  what N becomes if it is not there
-- ARGV[3]  how many ids are wanted, 1 to 1000000
--
-- Reply    {first id, how many, how many a block has}, as texts
--          {first id, how many, how many a block has, 1}  there are no such ids: 64 bits end before them. Nothing changed.
--
-- Invariant: N only grows, by at least what is given out, so no id is given out twice. Sent twice, it leaves a gap.
--
-- Numbers may be up to 2^63, and one of Lua is exact to 2^53: so they stay texts, and Redis does the sum.
local N, A = KEYS[1], KEYS[2]
-- Whether a text is a number of 64 bits as Redis writes it.
local function is_number(text)
  local sign, digits = string.match(text, '^(%-?)([1-9]%d*)$')
  if not digits then
    return text == '0'
  end
  return #digits < 19 or #digits == 19 and digits <= (sign == '-' and '9223372036854775808' or '9223372036854775807')
end
local first = redis.call('GET', N)
if first and not is_number(first) then
  return redis.error_reply('WRONGTYPE the key holds no id')
end
local block = redis.call('GET', A)
if block and not (is_number(block) and string.match(block, '^[1-9]')) then
  return redis.error_reply('WRONGTYPE the key of the allocation holds no size of blocks')
end
local start, size, wanted = first or ARGV[2], block or ARGV[1], tonumber(ARGV[3])
local count = size
if tonumber(size) < wanted then
  count = string.format('%.0f', math.ceil(wanted / size) * size)
end
if not first then
  redis.call('SET', N, start)
end
local taken = redis.pcall('INCRBY', N, count)
if type(taken) == 'table' then
  if not first then
    redis.call('DEL', N)
  end
  return string.find(taken.err, 'overflow') and {start, count, size, 1} or taken
end
if not block then
  redis.call('SET', A, size)
end
return {start, count, size}
