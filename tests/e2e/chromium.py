"""chromium.py - a headless Chromium that is spoken to by the DevTools protocol through two pipes."""
# SPDX-License-Identifier: Apache-2.0
import base64
import json
import os
import select
import subprocess
import time

PATIENCE = 120  # seconds for one answer; nothing is late on a busy machine

# Key, code, virtual key code and the text that it types.
KEYS = {"Tab": ("Tab", 9, None), "Enter": ("Enter", 13, "\r"), " ": ("Space", 32, " "), "Escape": ("Escape", 27, None),
        "ArrowLeft": ("ArrowLeft", 37, None), "ArrowRight": ("ArrowRight", 39, None), "ArrowDown": ("ArrowDown", 40, None),
        "+": ("Equal", 187, "+"), "0": ("Digit0", 48, "0")}


class Browser:
    def __init__(self, program, profile):
        down, up = os.pipe(), os.pipe()
        self.write, self.read, self.rest, self.number = down[1], up[0], b"", 0
        # The browser reads what it is told from 3, and answers on 4.
        command = 'exec 3<&"$0" 4>&"$1"; shift; exec "$@"'
        self.process = subprocess.Popen(
            ["bash", "-c", command, str(down[0]), str(up[1]), program, "--headless", "--no-sandbox", "--disable-gpu",
             "--disable-dev-shm-usage", "--remote-debugging-pipe", f"--user-data-dir={profile}", "about:blank"],
            pass_fds=(down[0], up[1]), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        os.close(down[0])
        os.close(up[1])
        self.session = None
        target = self.send("Target.createTarget", url="about:blank")["targetId"]
        self.session = self.send("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        self.send("Page.enable")

    def send(self, method, **params):
        self.number += 1
        message = {"id": self.number, "method": method, "params": params}
        if self.session:
            message["sessionId"] = self.session
        os.write(self.write, json.dumps(message).encode() + b"\0")
        while True:
            answer = self.message()
            if answer.get("id") == self.number:
                assert "error" not in answer, (method, answer["error"])
                return answer["result"]

    def message(self):
        while b"\0" not in self.rest:
            ready, _, _ = select.select([self.read], [], [], PATIENCE)
            more = os.read(self.read, 1 << 16) if ready else b""
            assert more, "the browser says nothing"
            self.rest += more
        text, self.rest = self.rest.split(b"\0", 1)
        return json.loads(text)

    def ask(self, script):
        """The value of an expression in the page."""
        answer = self.send("Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in answer, (script, answer["exceptionDetails"])
        return answer["result"].get("value")

    def wait(self, script):
        """Until the expression is true."""
        end = time.monotonic() + PATIENCE
        while not self.ask(script):
            assert time.monotonic() < end, script
            time.sleep(0.02)

    def show(self, address, width, height, theme="light"):
        self.look(width, height, theme)
        self.send("Page.navigate", url=address)
        self.wait("document.documentElement?.dataset.ready === 'true'")

    def look(self, width, height, theme="light"):
        self.send("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)
        self.send("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": theme},
                                                        {"name": "prefers-reduced-motion", "value": "reduce"}])

    def press(self, key, shift=False):
        code, number, text = KEYS[key]
        event = {"key": key, "code": code, "windowsVirtualKeyCode": number, "modifiers": 8 if shift else 0}
        self.send("Input.dispatchKeyEvent", type="keyDown", **event, **({"text": text} if text else {}))
        self.send("Input.dispatchKeyEvent", type="keyUp", **event)

    def type(self, text):
        self.send("Input.insertText", text=text)

    def picture(self, path=None):
        """What is in sight, as PNG in base64."""
        data = self.send("Page.captureScreenshot", format="png")["data"]
        if path:
            with open(path, "wb") as file:
                file.write(base64.b64decode(data))
        return data

    def close(self):
        self.process.kill()
        self.process.wait()
