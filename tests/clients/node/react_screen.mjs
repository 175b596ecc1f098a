// A page with one React component that uses a hook, as an application would have it.
import { Window } from "happy-dom";

const window = new Window();
Object.assign(globalThis, { window, document: window.document, IS_REACT_ACT_ENVIRONMENT: true });

// React looks for the page when it is loaded.
const { act, createElement } = await import("react");
const { createRoot } = await import("react-dom/client");
export { useCallback, useRef, useState } from "react";

/** `shown` is what the hook returned last; `change` runs something and shows what came of it. */
export const screen = (useHook) => {
  const shown = {};
  const Screen = () => {
    Object.assign(shown, useHook());
    return null;
  };
  const root = createRoot(window.document.createElement("div"));
  act(() => root.render(createElement(Screen)));
  return { shown, change: (run) => act(run) };
};

export const close = () => window.happyDOM.close();
