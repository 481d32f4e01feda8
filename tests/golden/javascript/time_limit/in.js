console.log("kept");
for (;;);
