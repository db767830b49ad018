  end
  if write then
