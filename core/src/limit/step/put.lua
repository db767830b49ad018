end
return 1
