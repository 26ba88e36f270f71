// A form for each call of the API, made from its description. Everything that comes back is shown as text.
"use strict";
const element = (name, text, parent) => {
  const made = document.createElement(name);
  if (text !== undefined) made.textContent = text;
  if (parent) parent.append(made);
  return made;
};
const headers = () => ({ authorization: "Bearer " + document.getElementById("token").value.trim() });

async function show(response, output) {
  output.textContent = response.status + " " + response.statusText + "\n";
  const reader = response.body && response.body.getReader();
  const decoder = new TextDecoder();
  while (reader) {
    const { done, value } = await reader.read();
    if (done) break;
    output.textContent = (output.textContent + decoder.decode(value, { stream: true })).slice(-200000);
  }
}

function form(path, method, call, parent) {
  const box = element("details", undefined, parent);
  element("summary", method.toUpperCase() + " " + path + ": " + (call.summary || ""), box);
  if (call.description) element("p", call.description, box);
  const inputs = (call.parameters || []).map((parameter) => {
    const label = element("label", parameter.name + " ", element("p", undefined, box));
    return [parameter, element("input", undefined, label)];
  });
  let body;
  if (call.requestBody) {
    body = element("textarea", undefined, element("p", undefined, box));
    body.rows = 6;
    body.cols = 80;
    body.value = "{}";
  }
  const send = element("button", "Send / Отправить", box);
  const output = element("pre", "", box);
  send.onclick = async () => {
    let address = path;
    const query = new URLSearchParams();
    const sent = headers();
    for (const [parameter, input] of inputs) {
      if (parameter.in === "path") address = address.replace("{" + parameter.name + "}", encodeURIComponent(input.value));
      else if (input.value && parameter.in === "query") query.set(parameter.name, input.value);
      else if (input.value) sent[parameter.name] = input.value;
    }
    if (body) sent["content-type"] = "application/json";
    try {
      const asked = query.size ? address + "?" + query : address;
      await show(await fetch(asked, { method: method.toUpperCase(), headers: sent, body: body && body.value }), output);
    } catch (error) {
      output.textContent = String(error);
    }
  };
}

document.getElementById("load").onclick = async () => {
  const calls = document.getElementById("calls");
  calls.replaceChildren();
  const response = await fetch("openapi.json", { headers: headers() });
  if (!response.ok) {
    element("pre", response.status + " " + (await response.text()), calls);
    return;
  }
  const description = await response.json();
  for (const [path, methods] of Object.entries(description.paths))
    for (const [method, call] of Object.entries(methods)) form(path, method, call, calls);
};
