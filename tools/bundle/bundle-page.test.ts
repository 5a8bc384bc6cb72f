import assert from 'node:assert/strict'
import { mkdtempDisposableSync, readdirSync, readFileSync, utimesSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { gzipSync } from 'node:zlib'
import { bundlePage } from './bundle-page.ts'

const root = join(import.meta.dirname, '../..')
/** Gzipped. */
const firstViewBytesMax = 400_000

test('the first view of the console has less than 400 kB gzipped, and its page no inline code', async () => {
  using folder = mkdtempDisposableSync(join(tmpdir(), 'k8ts-page-'))
  for (const name of ['main-OUTDATED.js', 'main-REPLACED.js']) writeFileSync(join(folder.path, name), 'old()')
  utimesSync(join(folder.path, 'main-OUTDATED.js'), 0, 0)
  const { firstView, inputs } = await bundlePage({ root, folder: folder.path })
  const sizeBytes = firstView
    .map(name => gzipSync(readFileSync(join(folder.path, name))).length)
    .reduce((sum, each) => sum + each, 0)
  assert.ok(firstView.length >= 3, firstView.join(', '))
  assert.ok(sizeBytes < firstViewBytesMax, `${sizeBytes} bytes`)
  const page = readFileSync(join(folder.path, 'index.html'), 'utf8')
  for (const [, attributes, content] of page.matchAll(/<script\b([^>]*)>([^]*?)<\/script>/g)) {
    assert.match(attributes!, /src="main-[A-Z0-9]{8}\.js"/)
    assert.equal(content, '')
  }
  assert.match(page, /<link rel="stylesheet" href="style-[A-Z0-9]{8}\.css"/)
  assert.match(page, /<link rel="icon" type="image\/svg\+xml" href="icon-[A-Z0-9]{8}\.svg"/)
  assert.doesNotMatch(page, /<style|\sstyle=|\son\w+=|https?:/, 'all of it comes from the server')
  // Every name is one that the server sends.
  for (const name of readdirSync(folder.path)) assert.match(name, /^(?:index\.html|[\w-]+-[A-Z0-9]{8}\.\w+)$/)
  assert.ok(!readdirSync(folder.path).includes('main-OUTDATED.js'))
  assert.ok(readdirSync(folder.path).includes('main-REPLACED.js'), 'open pages still load it')
  assert.ok(inputs.includes('src/console-page/index.html'))
})
