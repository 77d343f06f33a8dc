(** Theorems 1 to 4 of docs/theorems.md over the rationals, checked by Rocq (Coq 8.16 or later).

    [make proofs] compiles this file; nothing here is assumed without proof. Vectors are functions
    from numbers of cells, of which the first [n] count; sums over cells and relations are finite. *)

From Coq Require Import QArith Qminmax ZArith Lia Lqa.

Open Scope Q_scope.

(** * Finite sums *)

Fixpoint sum (n : nat) (f : nat -> Q) : Q :=
  match n with
  | O => 0
  | S k => sum k f + f k
  end.

Lemma sum_equal n f g : (forall i, (i < n)%nat -> f i == g i) -> sum n f == sum n g.
Proof.
  induction n as [|n IH]; intros same; simpl.
  - reflexivity.
  - rewrite IH by (intros; apply same; lia). rewrite (same n) by lia. reflexivity.
Qed.

Lemma sum_below n f g : (forall i, (i < n)%nat -> f i <= g i) -> sum n f <= sum n g.
Proof.
  induction n as [|n IH]; intros below; simpl.
  - apply Qle_refl.
  - apply Qplus_le_compat; [apply IH; intros; apply below; lia | apply below; lia].
Qed.

Lemma sum_plus n f g : sum n (fun i => f i + g i) == sum n f + sum n g.
Proof. induction n as [|n IH]; simpl; [reflexivity | rewrite IH; ring]. Qed.

Lemma sum_times n k f : sum n (fun i => k * f i) == k * sum n f.
Proof. induction n as [|n IH]; simpl; [ring | rewrite IH; ring]. Qed.

Lemma sum_zero n : sum n (fun _ => 0) == 0.
Proof. induction n as [|n IH]; simpl; [reflexivity | rewrite IH; ring]. Qed.

Lemma sum_swap m n (f : nat -> nat -> Q) :
  sum m (fun j => sum n (fun i => f j i)) == sum n (fun i => sum m (fun j => f j i)).
Proof.
  induction m as [|m IH]; simpl.
  - symmetry. apply sum_zero.
  - rewrite IH, <- sum_plus. reflexivity.
Qed.

Lemma sum_at n p v : (p < n)%nat -> sum n (fun i => if Nat.eqb i p then v i else 0) == v p.
Proof.
  induction n as [|n IH]; intros inside; [lia | simpl].
  destruct (Nat.eqb_spec n p) as [same|other].
  - subst. assert (none : sum p (fun i => if Nat.eqb i p then v i else 0) == 0).
    { rewrite (sum_equal p _ (fun _ => 0)); [apply sum_zero|].
      intros i below. destruct (Nat.eqb_spec i p); [lia | reflexivity]. }
    rewrite none. ring.
  - rewrite IH by lia. ring.
Qed.

(** * Theorems 1 and 2: witnesses *)

Section Witness.

Variables n m : nat.                 (* cells, relations *)
Variable A : nat -> nat -> Q.        (* relation, cell *)
Variable b : nat -> Q.
Variables a : nat -> Q.              (* the true table *)
Variables lb ub : nat -> option Q.   (* None: no bound *)
Variable hidden : nat -> bool.

Definition above (bound : option Q) (v : Q) := match bound with None => True | Some l => l <= v end.
Definition below (bound : option Q) (v : Q) := match bound with None => True | Some u => v <= u end.

Definition relation (x : nat -> Q) (j : nat) := sum n (fun i => A j i * x i).

(** What an intruder must consider. *)
Definition considered (x : nat -> Q) :=
  (forall j, (j < m)%nat -> relation x j == b j) /\
  (forall i, (i < n)%nat -> hidden i = false -> x i == a i) /\
  (forall i, (i < n)%nat -> above (lb i) (x i) /\ below (ub i) (x i)).

Definition moved (d : nat -> Q) (i : nat) := a i + d i.

Hypothesis true_table : forall j, (j < m)%nat -> relation a j == b j.

Theorem witness d :
  (forall j, (j < m)%nat -> relation d j == 0) ->
  (forall i, (i < n)%nat -> hidden i = false -> d i == 0) ->
  (forall i, (i < n)%nat -> above (lb i) (a i + d i) /\ below (ub i) (a i + d i)) ->
  considered (moved d).
Proof.
  intros relations still bounds. repeat split; unfold moved; intros.
  - unfold relation. rewrite (sum_equal n _ (fun i => A j i * a i + A j i * d i))
      by (intros; ring).
    rewrite sum_plus. fold (relation a j). fold (relation d j).
    rewrite true_table, relations by assumption. ring.
  - rewrite still by assumption. ring.
  - apply bounds; assumption.
  - apply bounds; assumption.
Qed.

(** Nobody can exclude a value of p at its level or beyond. *)
Corollary upper_level d p U :
  considered (moved d) -> U <= d p -> exists x, considered x /\ a p + U <= x p.
Proof.
  intros possible far. exists (moved d). split; [assumption | unfold moved; lra].
Qed.

Corollary lower_level d p L :
  considered (moved d) -> d p <= - L -> exists x, considered x /\ x p <= a p - L.
Proof.
  intros possible far. exists (moved d). split; [assumption | unfold moved; lra].
Qed.

Corollary width d e p W :
  considered (moved d) -> considered (moved e) -> W <= d p - e p ->
  exists x y, considered x /\ considered y /\ W <= x p - y p.
Proof.
  intros up down far. exists (moved d), (moved e).
  repeat (split; [assumption|]). unfold moved. lra.
Qed.

(** Theorem 2: a move that exceeds rooms by a share [h] of each is a witness once it is shrunk. *)
Theorem shrunk d h :
  0 <= h ->
  (forall j, (j < m)%nat -> relation d j == 0) ->
  (forall i, (i < n)%nat -> hidden i = false -> d i == 0) ->
  (forall i, (i < n)%nat ->
     match lb i with None => True | Some l => - ((1 + h) * (a i - l)) <= d i end /\
     match ub i with None => True | Some u => d i <= (1 + h) * (u - a i) end) ->
  considered (moved (fun i => d i / (1 + h))).
Proof.
  intros positive relations still rooms.
  assert (more : 0 < 1 + h) by lra.
  assert (not_zero : ~ 1 + h == 0) by lra.
  apply witness.
  - intros j inside. unfold relation.
    rewrite (sum_equal n _ (fun i => / (1 + h) * (A j i * d i)))
      by (intros; unfold Qdiv; ring).
    rewrite sum_times. fold (relation d j). rewrite relations by assumption. ring.
  - intros i inside published. rewrite still by assumption. unfold Qdiv. ring.
  - intros i inside. destruct (rooms i inside) as [low high]. split.
    + destruct (lb i) as [l|]; simpl; [|exact I].
      assert (- (a i - l) <= d i / (1 + h)).
      { apply Qle_shift_div_l; [assumption|].
        setoid_replace (- (a i - l) * (1 + h)) with (- ((1 + h) * (a i - l))) by ring. exact low. }
      lra.
    + destruct (ub i) as [u|]; simpl; [|exact I].
      assert (d i / (1 + h) <= u - a i).
      { apply Qle_shift_div_r; [assumption|].
        setoid_replace ((u - a i) * (1 + h)) with ((1 + h) * (u - a i)) by ring. exact high. }
      lra.
Qed.

(** * Theorem 4: the room that all hidden cells together give to one of them *)

Definition positive_part (v : Q) := Qmax v 0.

Lemma product_in_room r v low high :
  - low <= v -> v <= high -> 0 <= low -> 0 <= high ->
  r * v <= positive_part r * high + positive_part (- r) * low.
Proof.
  intros. unfold positive_part.
  destruct (Qlt_le_dec r 0) as [negative|positive].
  - rewrite (Q.max_r r 0) by lra. rewrite (Q.max_l (- r) 0) by lra. nra.
  - rewrite (Q.max_l r 0) by lra. rewrite (Q.max_r (- r) 0) by lra. nra.
Qed.

Theorem capacity_row (gamma up down : nat -> Q) x p U :
  (p < n)%nat ->
  considered x ->
  (forall i, (i < n)%nat -> 0 <= up i /\ 0 <= down i) ->
  (forall i, (i < n)%nat -> - down i <= x i - a i /\ x i - a i <= up i) ->
  U <= x p - a p ->
  let r i := (if Nat.eqb i p then 1 else 0) - sum m (fun j => gamma j * A j i) in
  U <= sum n (fun i => if hidden i
                       then positive_part (r i) * up i + positive_part (- r i) * down i else 0).
Proof.
  intros inside [relations [published _]] rooms moves far r.
  apply Qle_trans with (x p - a p); [assumption|].
  assert (product : x p - a p == sum n (fun i => r i * (x i - a i))).
  { rewrite (sum_equal n _ (fun i => (if Nat.eqb i p then x i - a i else 0)
        + (-1) * sum m (fun j => gamma j * A j i * (x i - a i)))).
    - rewrite sum_plus, (sum_at n p (fun i => x i - a i)) by assumption.
      rewrite sum_times, <- (sum_swap m n (fun j i => gamma j * A j i * (x i - a i))).
      rewrite (sum_equal m _ (fun _ => 0)); [rewrite sum_zero; ring|].
      intros j within.
      rewrite (sum_equal n _ (fun i => gamma j * (A j i * x i + (-1) * (A j i * a i))))
        by (intros; ring).
      rewrite sum_times, sum_plus, sum_times. fold (relation x j). fold (relation a j).
      rewrite relations, true_table by assumption. ring.
    - intros i _. unfold r.
      rewrite (sum_equal m (fun j => gamma j * A j i * (x i - a i))
                           (fun j => (x i - a i) * (gamma j * A j i))) by (intros; ring).
      rewrite sum_times. destruct (Nat.eqb i p); ring. }
  rewrite product. apply sum_below. intros i within.
  destruct (hidden i) eqn:secret.
  - destruct (rooms i within), (moves i within). apply product_in_room; assumption.
  - rewrite (published i within secret). setoid_replace (r i * (a i - a i)) with 0 by ring.
    apply Qle_refl.
Qed.

End Witness.

(** * Theorem 3: weak duality, and trees that cover all releases *)

Section Duality.

Variables n m : nat.                 (* columns, rows *)
Variable G : nat -> nat -> Q.
Variables g l : nat -> Q.            (* sides and multipliers of rows *)
Variables lo hi : nat -> Q.

Definition released (y : nat -> Q) :=
  (forall j, (j < m)%nat -> g j <= sum n (fun i => G j i * y i)) /\
  (forall i, (i < n)%nat -> lo i <= y i /\ y i <= hi i).

Definition reduced (c : nat -> Q) (i : nat) := c i - sum m (fun j => l j * G j i).

(** What multipliers prove of a cost. *)
Definition price (c : nat -> Q) :=
  sum m (fun j => l j * g j) + sum n (fun i => Qmin (reduced c i * lo i) (reduced c i * hi i)).

Lemma linear_in_box r v low high : low <= v -> v <= high -> Qmin (r * low) (r * high) <= r * v.
Proof.
  intros. destruct (Qlt_le_dec r 0).
  - apply Qle_trans with (r * high); [apply Q.le_min_r | nra].
  - apply Qle_trans with (r * low); [apply Q.le_min_l | nra].
Qed.

Hypothesis not_negative : forall j, (j < m)%nat -> 0 <= l j.

Theorem weak_duality c y : released y -> price c <= sum n (fun i => c i * y i).
Proof.
  intros [rows box]. unfold price.
  assert (split_cost : sum n (fun i => c i * y i) ==
          sum m (fun j => l j * sum n (fun i => G j i * y i))
          + sum n (fun i => reduced c i * y i)).
  { rewrite (sum_equal m (fun j => l j * sum n (fun i => G j i * y i))
                         (fun j => sum n (fun i => l j * G j i * y i))).
    - rewrite sum_swap, <- sum_plus. apply sum_equal. intros i _. unfold reduced.
      rewrite (sum_equal m (fun j => l j * G j i * y i) (fun j => y i * (l j * G j i)))
        by (intros; ring).
      rewrite sum_times. ring.
    - intros j _. rewrite <- sum_times. apply sum_equal. intros; ring. }
  rewrite split_cost. apply Qplus_le_compat; apply sum_below.
  - intros j inside. specialize (rows j inside). specialize (not_negative j inside). nra.
  - intros i inside. destruct (box i inside). apply linear_in_box; assumption.
Qed.

(** If multipliers prove more than 0 of no cost at all, there is no release. *)
Corollary empty : 0 < price (fun _ => 0) -> forall y, ~ released y.
Proof.
  intros positive y exists_.
  pose proof (weak_duality (fun _ => 0) y exists_) as bound.
  rewrite (sum_equal n _ (fun _ => 0)) in bound by (intros; ring).
  rewrite sum_zero in bound. lra.
Qed.

End Duality.

Section Tree.

Variable loss : (nat -> Z) -> Q.     (* of the choices of all cells *)

Inductive tree :=
  | Leaf (proved : Q)
  | Split (cell : nat) (limit : Z) (low high : tree).

Fixpoint bound (t : tree) : Q :=
  match t with
  | Leaf proved => proved
  | Split _ _ low high => Qmin (bound low) (bound high)
  end.

(** Each leaf proves its bound for the releases in its box. *)
Fixpoint proved_in (box : (nat -> Z) -> Prop) (t : tree) : Prop :=
  match t with
  | Leaf proved => forall y, box y -> proved <= loss y
  | Split cell limit low high =>
      proved_in (fun y => box y /\ (y cell <= limit)%Z) low /\
      proved_in (fun y => box y /\ (limit + 1 <= y cell)%Z) high
  end.

Theorem tree_covers t : forall box, proved_in box t -> forall y, box y -> bound t <= loss y.
Proof.
  induction t as [proved|cell limit low IHlow high IHhigh]; simpl; intros box valid y inside.
  - apply valid. assumption.
  - destruct valid as [left right].
    destruct (Z.le_gt_cases (y cell) limit) as [under|over].
    + apply Qle_trans with (bound low); [apply Q.le_min_l|].
      apply (IHlow _ left). split; assumption.
    + apply Qle_trans with (bound high); [apply Q.le_min_r|].
      apply (IHhigh _ right). split; [assumption | lia].
Qed.

End Tree.

Print Assumptions shrunk.
Print Assumptions capacity_row.
Print Assumptions empty.
Print Assumptions tree_covers.
