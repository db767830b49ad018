-- Looks at a latch.
--
-- KEYS[1]  L: see count.lua
--
-- Reply    {now us, count}
return {now, count}
