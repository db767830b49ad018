-- Counts the bits of a Bloom filter that are set.
--
-- KEYS, ARGV[1] and [2]  see config.lua
--
-- Reply    how many are set; 0 of a filter that is not there
return there and redis.call('BITCOUNT', N) or 0
