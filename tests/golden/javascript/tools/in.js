try {
  await callTool("fail", { why: "closed" });
} catch (error) {
  console.log(error.name, error.message);
}
await callTool("echo", { number: 1, text: "ü", nested: { list: [1, null] } })
