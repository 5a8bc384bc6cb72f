import assert from 'node:assert/strict'
import { text } from 'node:stream/consumers'
import { test } from 'node:test'
import { inProcessHttp } from '#/platform/in-process-http.ts'
import type { Files } from '#/platform/platform.ts'
import { Simulation } from '#/platform/simulated.ts'
import { serveFile } from './serve-files.ts'

test('files are served with their types, folders as lists', async () => {
  const check = async (files: Files, path: string, expected: string): Promise<void> => {
    const server = inProcessHttp(exchange => {
      void serveFile(exchange, { files, folder: '/www', path: decodeURIComponent(exchange.target) })
    })
    const { status, headers, body } = await server.request({ method: 'GET', path })
    const shown = (await text(body)).replaceAll('\n', ' ').trim()
    assert.equal(
      [status, headers['location'] ?? headers['content-type'], shown].filter(Boolean).join(' '),
      expected,
    )
  }
  const simulation = new Simulation({ seed: 1 })
  const { files } = simulation.host('a')
  const run = async (): Promise<void> => {
    await files.makeFolder('/www/list')
    await files.makeFolder('/www/site')
    await files.write('/www/list/a & b.txt', 'text')
    await files.write('/www/site/index.html', '<p>')
    await check(files, '/list/a%20&%20b.txt', '200 text/plain; charset=utf-8 text')
    await check(files, '/site/', '200 text/html; charset=utf-8 <p>')
    await check(files, '/site', '301 site/')
    await check(files, '/site/index.html', '301 ./')
    await check(files, '/list/a%20&%20b.txt/', '301 ../a%20%26%20b.txt')
    await check(files, '/none', '404 text/plain; charset=utf-8 404 page not found')
    const head = '<!doctype html> <meta name="viewport" content="width=device-width"> <pre>'
    const link = '<a href="a%20&%20b.txt">a &amp; b.txt</a>'
    await check(files, '/list/', `200 text/html; charset=utf-8 ${head} ${link} </pre>`)
  }
  await simulation.run(run())
})
