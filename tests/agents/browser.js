// Chromium by Puppeteer and by Playwright, inside of a jail, with a page from a server beside it: `NAME TITLE TEXT PNG` a line each.
const http = require('http');
const puppeteer = require('puppeteer-core');
const { chromium } = require('playwright-core');

const PAGE = '<title>page</title><button onclick="this.textContent=6*7">?</button>';
const OPTIONS = { executablePath: '/usr/bin/chromium', args: ['--no-sandbox'] };

async function press(name, browser) {
  const page = await browser.newPage();
  await page.goto(`http://127.0.0.1:${server.address().port}/`);
  await page.click('button');
  const text = await page.evaluate(() => document.querySelector('button').textContent);
  const picture = await page.screenshot();
  console.log(name, await page.title(), text, Buffer.from(picture).subarray(1, 4).toString());
  await browser.close();
}

const server = http.createServer((request, response) => response.setHeader('content-type', 'text/html').end(PAGE));
server.listen(0, '127.0.0.1', async () => {
  await press('puppeteer', await puppeteer.launch(OPTIONS));
  await press('playwright', await chromium.launch(OPTIONS));
  server.close();
});
