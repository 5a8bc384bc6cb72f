import assert from 'node:assert/strict'
import { test } from 'node:test'
import { readMachine } from './read-machine.ts'

test('machine usage is parsed from /proc', () => {
  const read = readMachine({
    stat: 'cpu  100 20 30 4000 500 6 7 8 0 0\ncpu0 1 2 3 4\nbtime 1700000000\n',
    meminfo: [
      'MemTotal:  1000 kB',
      'MemFree:  400 kB',
      'Inactive(file):  100 kB',
      'AnonPages:  50 kB',
      'SwapTotal:  20 kB',
      'SwapFree:  5 kB',
    ].join('\n'),
    vmstat: 'pgfault 11\npgmajfault 12\n',
    loadavg: '0.1 0.2 0.3 2/345 6789\n',
    netDev: [
      'Inter-| Receive | Transmit',
      ' face |bytes packets errs',
      '    lo: 1 2 3 0 0 0 0 0 4 5 6 0 0 0 0 0',
      '  eth0: 100 2 3 0 0 0 0 0 400 5 6 0 0 0 0 0',
    ].join('\n'),
    route: 'Iface\tDestination\tGateway\neth0\t00000000\t0100A8C0\t0003\n',
  })
  assert.deepEqual(read, {
    cpuNanoseconds: 171 * 10_000_000,
    bootedMs: 1_700_000_000_000,
    memory: {
      totalBytes: 1_024_000,
      usageBytes: 614_400,
      workingSetBytes: 512_000,
      rssBytes: 51_200,
      pageFaults: 11,
      majorPageFaults: 12,
    },
    swap: { totalBytes: 20_480, usedBytes: 15_360 },
    processes: 345,
    interfaces: [{ name: 'eth0', rxBytes: 100, rxErrors: 3, txBytes: 400, txErrors: 6 }],
    defaultInterface: 'eth0',
  })
})

test('missing kernel files give zero usage', () => {
  const nothing = { stat: '', meminfo: '', vmstat: '', loadavg: '', netDev: '', route: '' }
  assert.equal(readMachine(nothing).cpuNanoseconds, 0)
  assert.deepEqual(readMachine(nothing).interfaces, [])
})
