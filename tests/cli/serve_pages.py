#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""serve_pages.py URL [FOLDER]: the page of a server in headless Chromium, 360 and 1600 pixels wide, light and dark: no
horizontal scroll, no two texts in one place, no console message, no request to elsewhere, and the expected cards. With
FOLDER, screenshots go there. The packages are those of tritonclient[http]."""
import asyncio
import base64
import json
import os
import subprocess
import sys
import tempfile
import time

import aiohttp

URL, FOLDER = sys.argv[1], sys.argv[2] if len(sys.argv) > 2 else None
CARDS = {'digits', 'plain'}
# Boxes of lines of text; each pair that overlaps by more than a pixel in both directions.
LAYOUT = r'''(() => {
    const boxes = [], walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
    while (walker.nextNode()) {
        const node = walker.currentNode;
        if (!node.textContent.trim() || ['TITLE', 'NOSCRIPT', 'SCRIPT'].includes(node.parentElement.tagName)) continue;
        const range = document.createRange();
        range.selectNodeContents(node);
        for (const r of range.getClientRects()) boxes.push([r, node.textContent]);
    }
    const wrong = [];
    boxes.forEach(([a, x], i) => {
        if (a.right > innerWidth + 1) wrong.push(`"${x}" ends at ${a.right}`);
        for (const [b, y] of boxes.slice(i + 1))
            if (Math.min(a.right, b.right) - Math.max(a.left, b.left) > 1 &&
                Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top) > 1) wrong.push(`"${x}" lies on "${y}"`);
    });
    if (document.documentElement.scrollWidth > innerWidth) wrong.push(`${document.documentElement.scrollWidth} pixels wide`);
    return {width: innerWidth, wrong, cards: [...document.querySelectorAll('h2')].map(h => h.textContent),
        state: document.getElementById('state').textContent};
})()'''
bad = []


class Browser:
    def __init__(self, socket):
        self.socket, self.number = socket, 0

    async def call(self, method, **parameters):
        self.number += 1
        await self.socket.send_json({'id': self.number, 'method': method, 'params': parameters})
        while True:
            message = await self.socket.receive_json()
            if message.get('id') == self.number:
                return message.get('result', message)
            self.note(message)

    @staticmethod
    def note(message):
        text = json.dumps(message.get('params'))
        if message.get('method') in ('Runtime.consoleAPICalled', 'Runtime.exceptionThrown', 'Log.entryAdded'):
            bad.append(f'console: {text}')
        if message.get('method') == 'Network.requestWillBeSent':
            to = message['params']['request']['url']
            if not to.startswith((URL, 'blob:' + URL, 'data:')):
                bad.append(f'a request to {to}')

    async def value(self, script):
        return (await self.call('Runtime.evaluate', expression=script, returnByValue=True))['result'].get('value')


async def look(browser, width, scheme):
    await browser.call('Emulation.setDeviceMetricsOverride', width=width, height=1000, deviceScaleFactor=1, mobile=False)
    await browser.call('Emulation.setEmulatedMedia', features=[{'name': 'prefers-color-scheme', 'value': scheme}])
    await browser.call('Page.navigate', url=URL)
    for _ in range(300):
        seen = await browser.value(LAYOUT)
        if seen and set(seen['cards']) == CARDS:
            break
        await asyncio.sleep(0.1)
    what = f'{width} {scheme}'
    if not seen or seen['width'] != width or set(seen['cards']) != CARDS:
        bad.append(f'{what}: {seen}')
        return
    bad.extend(f'{what}: {w}' for w in seen['wrong'])
    if FOLDER:
        shot = await browser.call('Page.captureScreenshot', format='png', captureBeyondViewport=True)
        with open(os.path.join(FOLDER, f'{width}-{scheme}.png'), 'wb') as f:
            f.write(base64.b64decode(shot['data']))


async def main(port):
    async with aiohttp.ClientSession() as session:
        async with session.put(f'http://127.0.0.1:{port}/json/new?about:blank') as reply:
            target = await reply.json(content_type=None)
        async with session.ws_connect(target['webSocketDebuggerUrl'], max_msg_size=1 << 28) as socket:
            browser = Browser(socket)
            for domain in 'Page', 'Runtime', 'Log', 'Network':
                await browser.call(f'{domain}.enable')
            for width in 360, 1600:
                for scheme in 'light', 'dark':
                    await look(browser, width, scheme)


with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as home:
    chromium = subprocess.Popen(
        ['chromium', '--headless', '--no-sandbox', '--disable-gpu', '--remote-debugging-port=0',
         f'--user-data-dir={home}/profile', 'about:blank'], env={**os.environ, 'HOME': home}, stderr=subprocess.DEVNULL)
    try:
        port_file = f'{home}/profile/DevToolsActivePort'
        for _ in range(600):
            if os.path.exists(port_file) and os.path.getsize(port_file):
                break
            time.sleep(0.1)
        with open(port_file) as f:
            asyncio.run(main(int(f.readline())))
    finally:
        chromium.terminate()
        chromium.wait()
print('\n'.join(bad[:20]))
sys.exit(bool(bad))
