/** Chromium, and pages of a cluster's console in it, as a user opens them by the printed link. */
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import { after } from 'node:test'
import { promisify } from 'node:util'
import { chromium, type Browser, type BrowserContextOptions, type Page } from 'playwright-core'
import { script } from '../up/process.ts'

const programs = ['/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome']

const executablePath = programs.find(path => existsSync(path))

/** The reason to skip tests that need the browser; never in continuous integration. */
export const withoutBrowser: string | false =
  executablePath === undefined && process.env['CI'] !== 'true' ? 'Chromium is not installed' : false

const flags = [
  '--no-sandbox',
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
]

/** The browser of all tests of a file, with a fresh profile, closed after the last one. */
export async function browserForFile(): Promise<Browser> {
  assert.ok(executablePath !== undefined, 'Chromium is not installed: run tools/setup --development')
  const browser = await chromium.launch({ executablePath, args: flags })
  after(() => browser.close())
  return browser
}

/** Prints a new link to the console of the cluster. */
export async function newLink(folder: string): Promise<string> {
  const { stdout } = await promisify(execFile)(script, ['console', '--data-dir', folder])
  const [, link] = /^console: (http:\S+)$/m.exec(stdout) ?? assert.fail(`no link: ${stdout}`)
  return link!
}

export interface ConsolePage {
  readonly page: Page
  /** Errors that scripts did not catch, and what the Content-Security-Policy blocked. */
  readonly problems: readonly string[]
}

/** Signs in by a link, in a window that shares nothing with others. */
export async function openConsole(
  browser: Browser,
  link: string,
  options: BrowserContextOptions = {},
): Promise<ConsolePage> {
  const context = await browser.newContext({ viewport: { width: 1400, height: 900 }, ...options })
  context.setDefaultTimeout(timeoutMs)
  const page = await context.newPage()
  const problems: string[] = []
  page.on('pageerror', error => problems.push(error.message))
  page.on('console', message => {
    if (/Content.Security.Policy/i.test(message.text())) problems.push(message.text())
  })
  await page.goto(link)
  // Commands name resources of the cluster: they work from then on.
  await page.locator('.sidebar a[href="#/pods"]').waitFor({ state: 'attached' })
  return { page, problems }
}

/** Longer than anything takes on a loaded machine, and shorter than a test may take. */
const timeoutMs = 30_000

/** Goes to an address within the page. */
export async function show(page: Page, address: string): Promise<void> {
  await page.evaluate(`location.hash = ${JSON.stringify(address)}`)
}
