"""A browser without a screen, driven through WebDriver over http: just what the tests need."""
import base64
import http.client
import json
import os
import re
import socket
import subprocess

from harness import Skip


class Browser:
    """chromedriver and the Chromium that it starts. Ends both."""

    def __init__(self, folder):
        try:
            socket.getaddrinfo('localhost', 80)
        except socket.gaierror:
            raise Skip('this system has no name localhost (/etc/hosts), by which chromedriver reaches its browser')
        self.driver = subprocess.Popen(['chromedriver', '--port=0'], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                                       env={**os.environ, 'HOME': folder, 'TMPDIR': folder})
        port = None
        for line in self.driver.stdout:
            found = re.search(rb'started successfully on port (\d+)', line)
            if found:
                port = int(found.group(1))
                break
        self.http = http.client.HTTPConnection('127.0.0.1', port, timeout=120)
        arguments = ['--headless', '--no-sandbox', '--disable-gpu', '--hide-scrollbars', '--window-size=1400,1000',
                     f'--user-data-dir={folder}/browser', '--force-device-scale-factor=1']
        try:
            answer = self.begin(arguments)
        except BaseException:
            self.driver.terminate()
            raise
        self.session = '/session/' + answer['sessionId']

    def begin(self, arguments):
        return self.ask('POST', '/session', {'capabilities': {'alwaysMatch': {
            'browserName': 'chrome', 'goog:chromeOptions': {'args': arguments}, 'goog:loggingPrefs': {'browser': 'ALL'}}}})

    def ask(self, method, path, body=None):
        self.http.request(method, path, json.dumps(body) if body is not None else None, {'Content-Type': 'application/json'})
        value = json.loads(self.http.getresponse().read())['value']
        if isinstance(value, dict) and 'error' in value:
            raise RuntimeError(f'{value["error"]}: {value["message"]}')
        return value

    def open(self, path):
        self.ask('POST', self.session + '/url', {'url': 'file://' + path})

    def run(self, script, *arguments):
        return self.ask('POST', self.session + '/execute/sync', {'script': script, 'args': list(arguments)})

    def element(self, selector):
        return list(self.ask('POST', self.session + '/element', {'using': 'css selector', 'value': selector}).values())[0]

    def click(self, selector):
        self.ask('POST', f'{self.session}/element/{self.element(selector)}/click', {})

    def type(self, selector, text):
        self.ask('POST', f'{self.session}/element/{self.element(selector)}/value', {'text': text})

    def click_at(self, x, y):
        """A real click at a place of the window."""
        pointer = {'type': 'pointer', 'id': 'mouse', 'parameters': {'pointerType': 'mouse'}, 'actions': [
            {'type': 'pointerMove', 'duration': 0, 'x': int(x), 'y': int(y)}, {'type': 'pointerDown', 'button': 0},
            {'type': 'pointerUp', 'button': 0}]}
        self.ask('POST', self.session + '/actions', {'actions': [pointer]})

    def text(self, selector):
        return self.run('return document.querySelector(arguments[0]).innerText', selector)

    def errors(self):
        return [entry['message'] for entry in self.ask('POST', self.session + '/se/log', {'type': 'browser'}) if entry['level'] == 'SEVERE']

    def screenshot(self, path):
        with open(path, 'wb') as file:
            file.write(base64.b64decode(self.ask('GET', self.session + '/screenshot')))

    def __enter__(self):
        return self

    def __exit__(self, *_):
        try:
            self.ask('DELETE', self.session)
        finally:
            self.driver.terminate()
            self.driver.wait()
