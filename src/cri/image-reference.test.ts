import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ImageReferenceError, normalizeImage, parseImageReference } from './image-reference.ts'

const sha = 'a'.repeat(64)

test('image references are normalized to registry names', () => {
  const cases: Readonly<Record<string, string>> = {
    'busybox': 'docker.io/library/busybox:latest',
    'busybox:1.36': 'docker.io/library/busybox:1.36',
    'me/it': 'docker.io/me/it:latest',
    'docker.io/busybox': 'docker.io/library/busybox:latest',
    'index.docker.io/busybox:1': 'docker.io/library/busybox:1',
    'localhost/it': 'localhost/it:latest',
    'localhost:5000/it:v1': 'localhost:5000/it:v1',
    'registry.k8s.io/pause:3.10': 'registry.k8s.io/pause:3.10',
    'quay.io/a/b/c__d/e--f.g': 'quay.io/a/b/c__d/e--f.g:latest',
    'Host/it': 'Host/it:latest',
    '[fd00::1]:5000/it': '[fd00::1]:5000/it:latest',
    [`busybox@sha256:${sha}`]: `docker.io/library/busybox@sha256:${sha}`,
    [`busybox:1@sha256:${sha}`]: `docker.io/library/busybox@sha256:${sha}`,
  }
  for (const [text, expected] of Object.entries(cases)) assert.equal(normalizeImage(text), expected, text)
})

test("invalid image references are rejected with Docker's messages", () => {
  const format = 'invalid reference format'
  const cases: Readonly<Record<string, string>> = {
    '': format,
    ' ': format,
    'a b': format,
    'it:': format,
    ':v1': format,
    'it@sha256:abc': format,
    'it:v1:v2': format,
    'a//b': format,
    '/a': format,
    'a/': format,
    'a..b': format,
    'a___b': format,
    'a.-b': format,
    '-a/b': format,
    '.com/b': format,
    'it:-x': format,
    'It': 'invalid reference format: repository name (library/It) must be lowercase',
    'quay.io/It': 'invalid reference format: repository name (It) must be lowercase',
    [sha]: `invalid repository name (${sha}), cannot specify 64-byte hexadecimal strings`,
    [`it@sha256:${'a'.repeat(40)}`]: 'invalid checksum digest length',
    [`it@md5:${'a'.repeat(32)}`]: 'unsupported digest algorithm',
    [`it@sha256:${'A'.repeat(64)}`]: 'invalid checksum digest format',
    ['a'.repeat(300)]: 'repository name must not be more than 255 characters',
  }
  for (const [text, message] of Object.entries(cases)) {
    assert.throws(() => parseImageReference(text), new ImageReferenceError(message), text)
  }
})

test('long malformed image references are rejected without backtracking', () => {
  const names = ['a-'.repeat(100_000), 'a.'.repeat(100_000), 'a/'.repeat(100_000), `a:${'b'.repeat(1e6)}`]
  for (const text of names) assert.throws(() => parseImageReference(text), ImageReferenceError)
})
