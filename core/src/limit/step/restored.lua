  -- How the rate stood before the tokens were charged, behind how it stood then, of all rates. A log has it in its entries.
  local marks = count * 9 + i * 3
  if kind ~= 'l' then
    u, v, w = tonumber(ARGV[marks]), tonumber(ARGV[marks + 1]), tonumber(ARGV[marks + 2])
  end
  do
