-- Stores `us` and `part` as the TAT, if they are to be written, and answers with `reply`.
if write then
  local value = string.format('%.0f', us)
  if us > top_us or (us == top_us and part > top_part) then
    value = string.format('%s+%.0f%016.0f/%.0f0000000000000000', value, part, now, unit)
  elseif part > 0 then
    value = string.format('%s+%.0f/%.0f', value, part, unit)
  end
  local ahead = us - now + (part > 0 and 1 or 0)
  redis.call('SET', KEYS[1], value, 'PX', string.format('%.0f', math.ceil(ahead / 1000) + 1))
end
return reply
