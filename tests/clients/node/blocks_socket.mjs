// A reader of the content blocks' WebSocket.

/** Opens a socket to a hosted server and says who it is. */
export const openBlocks = async ({ address, key }, options) => {
  const socket = new WebSocket(`ws://${address}/v1/ws/blocks`, options);
  const heard = [];
  let wake = () => {};
  socket.addEventListener("message", ({ data }) => {
    heard.push(JSON.parse(data));
    wake();
  });
  await new Promise((resolve, reject) => {
    socket.addEventListener("open", resolve);
    socket.addEventListener("error", () => reject(new Error("the socket did not open")));
  });
  const send = (message) => socket.send(JSON.stringify(message));

  const hear = async () => {
    if (heard.length === 0) {
      let timer;
      const late = new Promise((_, reject) => {
        timer = setTimeout(() => reject(new Error("nothing was heard for ten seconds")), 10000);
      });
      await Promise.race([new Promise((resolve) => (wake = resolve)), late]).finally(() => clearTimeout(timer));
    }
    const message = heard.shift();
    if (message.type === "error") throw new Error(JSON.stringify(message));
    return message;
  };

  /** The frames of a turn, each given to `take` when it comes. */
  const turn = async (take) => {
    const frames = [];
    while (frames.at(-1)?.type !== "message_stop") {
      const frame = await hear();
      if (!frame.event_id) continue;
      frames.push(frame);
      await take(frame);
    }
    return frames;
  };

  send({ type: "auth", token: key });
  return { send, turn, close: () => socket.close() };
};
