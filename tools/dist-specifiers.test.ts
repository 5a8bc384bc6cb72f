import assert from 'node:assert/strict'
import { test } from 'node:test'
import { distPath, distSpecifiers } from './dist-specifiers.ts'

test('paths of sources, declarations and data', () => {
  assert.equal(distPath('src/client/client.ts'), 'dist/client/client.js')
  assert.equal(distPath('src/client/client.d.ts'), 'dist/client/client.d.ts')
  assert.equal(distPath('src/api/generated/resources.json'), 'dist/api/generated/resources.json')
})

test('what a module names is where it is in the package', () => {
  const check = (text: string, expected: string): void => {
    assert.equal(distSpecifiers('src/client/reflector.ts', text), expected)
  }
  check("import { a } from './abort.ts'", "import { a } from './abort.js'")
  check("export * from './reflector/recovery.ts'", "export * from './reflector/recovery.js'")
  check("import '#/base/heap.ts'", "import '../base/heap.js'")
  check("await import('#/base/heap.ts')", "await import('../base/heap.js')")
  check("type A = import('#/api/a.ts').A", "type A = import('../api/a.js').A")
  check(
    "new Worker(new URL('worker.ts', import.meta.url))",
    "new Worker(new URL('./worker.js', import.meta.url))",
  )
  check(
    "import x from '#/api/x.json' with { type: 'json' }",
    "import x from '../api/x.json' with { type: 'json' }",
  )
  check(`import a from "./a.ts"; import b from "./b.ts"`, `import a from "./a.js"; import b from "./b.js"`)
})

test('everything else stays as it is', () => {
  for (const text of [
    "import { parse } from 'yaml'",
    "import { join } from 'node:path'",
    "import manifest from '../package.json' with { type: 'json' }",
    "// import { a } from './abort.ts'",
    "/** `import { pods } from '#/api/pods.ts'` */",
    'const text = "from \'./abort.ts\'"',
    "new URL('https://example.com/a.ts')",
  ]) {
    assert.equal(distSpecifiers('src/client/reflector.ts', text), text)
  }
})
