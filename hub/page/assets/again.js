// Loads the page again, at the same place, until the hub's database answers.
setTimeout(() => location.reload(), 5000);
