import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { PersistentVolume, PersistentVolumeClaim } from '#/api/generated/core/v1.ts'
import type { StorageClass } from '#/api/generated/storage/v1.ts'
import type { Stored } from '#/api/metadata.ts'
import { planVolumeClaim } from './plan-volume-claim.ts'
import { stored } from '../test-stored.ts'

/**
 * A volume as `name size [words]`: `rwx` adds an access mode, `block`, `class=c`, `vac=c` is a
 * VolumeAttributesClass, `label=l`, `for=claim` pre-binds it to a claim (`for=claim!` with the uid `u`,
 * `for=claim?` with another uid), `going` is being deleted, `Released` and so on are phases.
 */
function volume(text: string): Stored<PersistentVolume> {
  const [name = '', size = '', ...words] = text.split(' ')
  const value = (key: string): string | undefined => {
    return words.find(word => word.startsWith(`${key}=`))?.slice(key.length + 1)
  }
  const kept = value('for')
  const phase = words.find(word => /^[A-Z]/.test(word)) ?? 'Available'
  const uid = kept?.endsWith('!') ? 'u' : kept?.endsWith('?') ? 'old' : ''
  const claimRef = { namespace: 'n', name: kept?.replace(/[!?]$/, '') ?? '', ...(uid && { uid }) }
  const label = value('label')
  const attributes = value('vac')
  return stored({
    metadata: {
      name,
      ...(words.includes('going') && { deletionTimestamp: '2026-01-01T00:00:00Z' }),
      ...(label && { labels: { label } }),
    },
    spec: {
      capacity: { storage: size },
      accessModes: ['ReadWriteOnce', ...(words.includes('rwx') ? ['ReadWriteMany'] : [])],
      ...(words.includes('block') && { volumeMode: 'Block' }),
      ...(value('class') && { storageClassName: value('class')! }),
      ...(attributes && { volumeAttributesClassName: attributes }),
      ...(kept !== undefined && { claimRef }),
    },
    status: { phase },
  })
}

/**
 * A claim named `c` as `size [words]`: as above, and `volume=v`, `done`, `node`, `none` for no storage class.
 */
function claim(text: string): Stored<PersistentVolumeClaim> {
  const [size = '', ...words] = text.split(' ')
  const value = (key: string): string | undefined => {
    return words.find(word => word.startsWith(`${key}=`))?.slice(key.length + 1)
  }
  const annotations = {
    ...(words.includes('done') && { 'pv.kubernetes.io/bind-completed': 'yes' }),
    ...(words.includes('node') && { 'volume.kubernetes.io/selected-node': 'n1' }),
  }
  const label = value('label')
  return stored({
    metadata: {
      namespace: 'n',
      name: 'c',
      uid: 'u',
      annotations,
      ...(words.includes('going') && { deletionTimestamp: '2026-01-01T00:00:00Z' }),
    },
    spec: {
      resources: { requests: { storage: size } },
      accessModes: [words.includes('rwx') ? 'ReadWriteMany' : 'ReadWriteOnce'],
      ...(words.includes('block') && { volumeMode: 'Block' }),
      ...(!words.includes('none') && { storageClassName: value('class') ?? '' }),
      ...(value('vac') && { volumeAttributesClassName: value('vac')! }),
      ...(label && { selector: { matchLabels: { label } } }),
      ...(value('volume') && { volumeName: value('volume')! }),
    },
  })
}

const classes: readonly Stored<StorageClass>[] = [
  stored({ metadata: { name: 'fast' }, provisioner: 'p', volumeBindingMode: 'Immediate' }),
  stored({ metadata: { name: 'lazy' }, provisioner: 'p', volumeBindingMode: 'WaitForFirstConsumer' }),
]

interface Setting {
  readonly default?: string
  readonly pods?: readonly string[]
}

/** `bind v`, `wait Reason`, `lose Reason`, `assign c`, `provision c` or `nothing`. */
function check(text: string, volumes: readonly string[], expected: string, setting: Setting = {}): void {
  const parsed = claim(text)
  const all = volumes.map(volume)
  const classNamed = (name: string | undefined): Stored<StorageClass> | undefined => {
    return classes.find(({ metadata }) => metadata.name === name)
  }
  const plan = planVolumeClaim({
    claim: parsed,
    volume: all.find(({ metadata }) => metadata.name === parsed.spec?.volumeName),
    candidates: all,
    storageClass: classNamed(parsed.spec?.storageClassName),
    defaultClass: () => classNamed(setting.default),
    unscheduledPods: () => setting.pods ?? [],
  })
  const show = (): string => {
    switch (plan.do) {
      case 'nothing':
        return 'nothing'
      case 'bind':
        return `bind ${plan.volume.metadata.name}`
      case 'wait':
        return plan.event ? `wait ${plan.event.reason}: ${plan.event.message}` : 'wait'
      case 'lose':
        return `lose ${plan.event.reason}`
      case 'assign-class':
        return `assign ${plan.storageClass}`
      case 'provision':
        return `provision ${plan.storageClass.metadata.name}`
    }
  }
  const shown = show()
  assert.equal(shown.startsWith(expected) ? expected : shown, expected, `${text} of ${volumes.join(', ')}`)
}

test('a claim without volumeName gets the best matching volume', () => {
  check('2Gi', ['a 1Gi', 'b 5Gi', 'c 3Gi'], 'bind c')
  check('2Gi', ['a 2Gi rwx', 'b 5Gi'], 'bind b')
  check('2Gi rwx', ['a 9Gi rwx', 'b 5Gi'], 'bind a')
  check('2Gi', ['a 1Gi', 'b 1Gi'], 'wait FailedBinding: no persistent volumes available')
  check('1Gi', ['a 1Gi class=fast'], 'wait FailedBinding')
  check('1Gi class=fast', ['a 1Gi', 'b 2Gi class=fast'], 'bind b')
  check('1Gi block', ['a 1Gi', 'b 2Gi block'], 'bind b')
  check('1Gi vac=x', ['a 1Gi', 'b 2Gi vac=y', 'c 3Gi vac=x'], 'bind c')
  check('1Gi label=x', ['a 1Gi', 'b 2Gi label=y', 'c 3Gi label=x'], 'bind c')
  check('1Gi', ['a 1Gi going', 'b 2Gi Released', 'c 3Gi Failed', 'd 4Gi Pending'], 'wait FailedBinding')
  check('1000m', ['a 1'], 'bind a')
})

test('a volume pre-bound to a claim is preferred', () => {
  check('1Gi', ['a 1Gi', 'b 9Gi rwx for=c'], 'bind b')
  check('1Gi label=x class=fast', ['b 9Gi for=c'], 'bind b')
  check('1Gi', ['b 9Gi Bound for=c!'], 'bind b')
  check('1Gi class=lazy', ['a 1Gi class=lazy', 'b 9Gi class=lazy for=c'], 'bind b')
  check('1Gi', ['a 1Gi for=other'], 'wait FailedBinding')
  check('1Gi', ['a 1Gi for=c?'], 'wait FailedBinding')
  check('2Gi', ['a 1Gi for=c', 'b 3Gi'], 'bind b')
  check('1Gi', ['a 1Gi going for=c', 'b 3Gi'], 'bind b')
})

test('a claim without a matching volume is provisioned or waits', () => {
  check('1Gi class=fast', [], 'provision fast')
  check(
    '1Gi class=lazy',
    ['a 1Gi class=lazy'],
    'wait WaitForFirstConsumer: waiting for first consumer to be created',
  )
  check('1Gi class=lazy', [], 'wait WaitForPodScheduled: waiting for pod a to be scheduled', { pods: ['a'] })
  check('1Gi class=lazy', [], 'wait WaitForPodScheduled: waiting for pods a,b to be scheduled', {
    pods: ['a', 'b'],
  })
  check('1Gi class=lazy node', [], 'provision lazy')
  check('1Gi class=gone', [], 'wait ProvisioningFailed: storageclass.storage.k8s.io "gone" not found')
  check('1Gi none', [], 'assign fast', { default: 'fast' })
  check('1Gi none', ['a 1Gi'], 'bind a', { default: 'fast' })
  check('1Gi', [], 'wait FailedBinding', { default: 'fast' })
  check('1Gi none', [], 'wait FailedBinding')
  check('1Gi going class=fast', ['a 1Gi class=fast'], 'nothing')
})

test('a claim with volumeName gets that volume or none', () => {
  check('1Gi volume=a', ['b 1Gi'], 'wait')
  check('1Gi volume=a', ['a 5Gi', 'b 1Gi'], 'bind a')
  check('1Gi volume=a', ['a 5Gi for=c'], 'bind a')
  check('1Gi volume=a', ['a 5Gi for=c!'], 'bind a')
  check(
    '1Gi volume=a',
    ['a 5Gi for=other'],
    'wait FailedBinding: volume "a" already bound to a different claim.',
  )
  check('1Gi volume=a', ['a 5Gi for=c?'], 'wait FailedBinding')
  const mismatch = (why: string): string => `wait VolumeMismatch: Cannot bind to requested volume "a": ${why}`
  check('2Gi volume=a', ['a 1Gi'], mismatch('requested PV is too small'))
  check('1Gi volume=a', ['a 1Gi class=x'], mismatch('storageClassName does not match'))
  check('1Gi volume=a', ['a 1Gi vac=x'], mismatch('volumeAttributesClassName does not match'))
  check('1Gi volume=a', ['a 1Gi block'], mismatch('incompatible volumeMode'))
  check('1Gi volume=a rwx', ['a 1Gi'], mismatch('incompatible accessMode'))
  check('1Gi volume=a', ['a 1Gi going'], mismatch('the volume is marked for deletion "a"'))
})

test('a bound claim stays bound or becomes Lost', () => {
  check('1Gi done volume=a', ['a 5Gi Bound for=c!'], 'bind a')
  check('1Gi done volume=a', ['a 5Gi'], 'bind a')
  check('1Gi done volume=a', ['a 5Gi for=c'], 'bind a')
  check('1Gi done volume=a going', ['a 5Gi Bound for=c!'], 'bind a')
  check('1Gi done volume=a', [], 'lose ClaimLost')
  check('1Gi done', ['a 1Gi'], 'lose ClaimLost')
  check('1Gi done volume=a', ['a 5Gi Bound for=other?'], 'lose ClaimMisbound')
  check('1Gi done volume=a', ['a 5Gi Bound for=c?'], 'lose ClaimMisbound')
})
