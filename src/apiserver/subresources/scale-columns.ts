import { ageColumn, ageOf, nameColumn, nameOf } from '#/api/columns.ts'
import type { Scale } from '#/api/generated/autoscaling/v1.ts'
import type { Column, KindColumns } from '#/api/table-columns.ts'

/** Table columns of `kubectl get --subresource=scale`. */
export const scaleColumns: KindColumns<Scale> = {
  columns: [
    nameColumn,
    count('Desired', 'How many pods there should be.'),
    count('Available', 'How many pods there are.'),
    ageColumn,
  ],
  cells: (scale, nowMs) => [
    nameOf(scale),
    scale.spec?.replicas ?? 0,
    scale.status?.replicas ?? 0,
    ageOf(scale, nowMs),
  ],
}

function count(name: string, description: string): Column {
  return { name, type: 'integer', format: '', description, priority: 0 }
}
