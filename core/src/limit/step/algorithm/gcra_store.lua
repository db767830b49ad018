  if kind == 'g' then
    local us, part, unit = u, v, first
    local top_us, top_part = now + tonumber(ARGV[i * 6 + 1]), tonumber(ARGV[i * 6 + 2])
    text = string.format('%.0f', us)
    if us > top_us or (us == top_us and part > top_part) then
      text = string.format('%s+%.0f%016.0f/%.0f0000000000000000', text, part, now, unit)
    elseif part > 0 then
      text = string.format('%s+%.0f/%.0f', text, part, unit)
    end
    ahead = us - now + (part > 0 and 1 or 0)
  end
