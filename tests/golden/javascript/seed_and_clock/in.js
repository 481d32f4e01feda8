[Math.random(), crypto.randomUUID(), [...crypto.getRandomValues(new Uint8Array(4))], new Date().toISOString()]
