import type { Overlay } from '../overlay.ts'

export const rbac: Overlay = {
  atomic: ['RoleRef', 'Subject'],
}
