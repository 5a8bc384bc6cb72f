import assert from 'node:assert/strict'
import { test } from 'node:test'
import { planHostUnit } from './host-unit.ts'

test('the unit of a host runs it with its folder, and leaves its containers running', () => {
  const unit = planHostUnit({
    program: ['/opt/k8ts/k8ts'],
    node: '/opt/node/bin/node',
    folder: '/var/lib/k8ts',
  })
  for (const line of [
    'ExecStart=/opt/k8ts/k8ts host run --data-dir /var/lib/k8ts',
    'Environment=PATH=/opt/node/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin',
    'ConditionDirectoryNotEmpty=/var/lib/k8ts/processes',
    'KillMode=process',
    'WantedBy=multi-user.target',
  ])
    assert.ok(unit.split('\n').includes(line), `${line} in ${unit}`)
})

test('systemd does not split or expand the words of the command', () => {
  const check = (folder: string, word: string): void => {
    const unit = planHostUnit({ program: ['/n'], node: '/node', folder })
    assert.match(unit, /^ExecStart=/m)
    assert.equal(/^ExecStart=\/n host run --data-dir (.*)$/m.exec(unit)?.[1], word)
  }
  check('/srv/my files', '"/srv/my files"')
  check('/srv/100%', '/srv/100%%')
  check('/srv/$HOME', '/srv/$$HOME')
  check('/srv/a"b\\c', '"/srv/a\\"b\\\\c"')
  check('/srv/a;b', '"/srv/a;b"')
})
